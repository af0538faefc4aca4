#include "ops/cli/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>

namespace eroica {
namespace {

using ::testing::EndsWith;

TEST(Logging, AMessageIsOneLineWithoutControlCharacters) {
  std::ostringstream out;
  spdlog::logger logger("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
  logger.set_formatter(LogFormatter());
  logger.error("job={} rank={}", "a\n2026-01-01 error \x1b[31mforged\xff", 3);
  EXPECT_THAT(out.str(), EndsWith(" error job=a\\n2026-01-01 error \\x1b[31mforged\\xff rank=3\n"));
}

}  // namespace
}  // namespace eroica
