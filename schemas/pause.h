// Why a rank rightly does something else than training, as its marks say.
#pragma once

#include <cstdint>
#include <string_view>

namespace eroica {

enum class Pause : uint8_t { kNone = 0, kCheckpoint = 1, kEvaluation = 2 };
inline constexpr int kPauseCount = 3;
std::string_view ToString(Pause pause);

}  // namespace eroica
