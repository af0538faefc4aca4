#include "producers/core/control_topic.h"

#include <gtest/gtest.h>

#include <string>

#include "stream_ops/log/memory_log.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

// `eroica capture --job NAME`: the name is the user's.
TEST(ControlTopic, ARequestThatBreaksARuleIsAnError) {
  MemoryLog log;
  ASSERT_TRUE(log.admin().CreateTopic({.name = TopicName("site", Topic::kControl)}).ok());
  Control control{.job = JobId(std::string(5'000, 'j')), .requester = "test"};
  EXPECT_EQ(WriteControl(log, "site", control).code(), absl::StatusCode::kInvalidArgument);
  control.job = JobId("j");
  EXPECT_TRUE(WriteControl(log, "site", control).ok());
}

}  // namespace
}  // namespace eroica
