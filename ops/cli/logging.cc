#include "ops/cli/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

std::atomic<std::optional<Verbosity>> verbosity;

// The message of a line, whoever wrote it and whatever names it holds: one line, no control
// characters.
class PrintableMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text = Printable({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PrintableMessage>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> LogFormatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PrintableMessage>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %*");
  return formatter;
}

void StartLogging() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("eroica"));
  spdlog::set_formatter(LogFormatter());
  spdlog::set_level(spdlog::level::err);
}

void SetLogLevel(const std::string& level) {
  using spdlog::level::level_enum;
  level_enum chosen = spdlog::level::from_str(level);
  const std::optional<Verbosity> asked = verbosity.load();
  if (asked == Verbosity::kVerbose) chosen = std::min(chosen, level_enum::debug);
  if (asked == Verbosity::kQuiet) chosen = std::max(chosen, level_enum::warn);
  spdlog::set_level(chosen);
}

void SetVerbosity(Verbosity asked) {
  verbosity = asked;
  SetLogLevel("err");
}

}  // namespace eroica
