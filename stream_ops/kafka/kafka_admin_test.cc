#include "stream_ops/kafka/kafka_admin.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>

#include "stream_ops/kafka/kafka_handles.h"
#include "stream_ops/kafka/kafka_log.h"

namespace eroica {
namespace {

constexpr int16_t kOffsetFetch = 9;  // of Kafka's protocol

// Brokers of librdkafka's own, in this process, that answer as a test says.
class KafkaAdminTest : public ::testing::Test {
 protected:
  void SetUp() override {
    KafkaConf conf(rd_kafka_conf_new());
    char reason[512];
    owner_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf.release(), reason, sizeof(reason)));
    ASSERT_NE(owner_, nullptr) << reason;
    cluster_.reset(rd_kafka_mock_cluster_new(owner_.get(), 3));
    ASSERT_EQ(rd_kafka_mock_topic_create(cluster_.get(), kTopic, 2, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
    auto log =
        KafkaLog::Open({.bootstrap_servers = rd_kafka_mock_cluster_bootstraps(cluster_.get()),
                        .properties = {{"retry.backoff.ms", "1"}},
                        .request_timeout = std::chrono::seconds(30)});
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
  }

  void AnswerOffsetFetchWith(std::initializer_list<rd_kafka_resp_err_t> errors) {
    rd_kafka_mock_push_request_errors_array(cluster_.get(), kOffsetFetch, errors.size(),
                                            errors.begin());
  }
  absl::Status Commit(const GroupOffsets& offsets) {
    const auto consumer = log_->NewConsumer({.group_id = kGroup});
    if (!consumer.ok()) return consumer.status();
    return (*consumer)->Commit(offsets);
  }

  static constexpr const char* kTopic = "findings";
  static constexpr const char* kGroup = "subscribers";
  KafkaHandle owner_;
  KafkaOwned<rd_kafka_mock_cluster_t, rd_kafka_mock_cluster_destroy> cluster_;
  std::unique_ptr<Log> log_;
};

TEST_F(KafkaAdminTest, AGroupThatHasCommittedNothingHasNoOffsets) {
  const auto offsets = log_->admin().DescribeGroup(kGroup, kTopic);
  ASSERT_TRUE(offsets.ok()) << offsets.status();
  EXPECT_TRUE(offsets->empty());
}

TEST_F(KafkaAdminTest, AGroupsOffsetsAreThoseOfItsCommits) {
  const GroupOffsets committed{{{kTopic, 1}, 7}};
  ASSERT_TRUE(Commit(committed).ok());
  const auto offsets = log_->admin().DescribeGroup(kGroup, kTopic);
  ASSERT_TRUE(offsets.ok()) << offsets.status();
  EXPECT_EQ(*offsets, committed);
}

// As while a broker is restarted: librdkafka's own call for it ends the process.
TEST_F(KafkaAdminTest, ACoordinatorThatMovesOrLoadsIsAskedAgain) {
  const GroupOffsets committed{{{kTopic, 0}, 3}};
  ASSERT_TRUE(Commit(committed).ok());
  for (const rd_kafka_resp_err_t error :
       {RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
        RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE}) {
    AnswerOffsetFetchWith({error, error});
    const auto offsets = log_->admin().DescribeGroup(kGroup, kTopic);
    ASSERT_TRUE(offsets.ok()) << rd_kafka_err2name(error) << ": " << offsets.status();
    EXPECT_EQ(*offsets, committed) << rd_kafka_err2name(error);
  }
}

TEST_F(KafkaAdminTest, WhoMayNotReadAGroupHearsIt) {
  AnswerOffsetFetchWith({RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED});
  const auto offsets = log_->admin().DescribeGroup(kGroup, kTopic);
  EXPECT_EQ(offsets.status().code(), absl::StatusCode::kPermissionDenied) << offsets.status();
}

}  // namespace
}  // namespace eroica
