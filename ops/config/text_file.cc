#include "ops/config/text_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace eroica {

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  constexpr size_t kBytesMax = size_t{1} << 20;
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (file == nullptr)
    return absl::NotFoundError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::string text;
  std::array<char, 4096> block{};
  while (const size_t count = std::fread(block.data(), 1, block.size(), file.get())) {
    text.append(block.data(), count);
    if (text.size() > kBytesMax)
      return absl::InvalidArgumentError(fmt::format("{} is larger than one MiB", path));
  }
  if (std::ferror(file.get()) != 0)
    return absl::NotFoundError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return text;
}

}  // namespace eroica
