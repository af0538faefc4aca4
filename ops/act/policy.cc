#include "ops/act/policy.h"

#include <algorithm>
#include <array>

namespace eroica {
namespace {

constexpr std::array<std::string_view, kActionKindCount> kActionKinds = {
    "isolate_host", "restart_rank_on_spare", "open_ticket", "run_command"};

}  // namespace

std::string_view ToString(ActionKind kind) { return kActionKinds[static_cast<size_t>(kind)]; }

const PolicyAction* Policy::FindAction(std::string_view name) const {
  const auto found = std::ranges::find(actions, name, &PolicyAction::name);
  return found == actions.end() ? nullptr : &*found;
}

}  // namespace eroica
