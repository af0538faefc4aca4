// Owners for librdkafka's objects. Included only by the .cc files of this folder.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

namespace eroica {

template <auto Destroy>
struct KafkaDeleter {
  template <typename T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

template <typename T, auto Destroy>
using KafkaOwned = std::unique_ptr<T, KafkaDeleter<Destroy>>;

using KafkaConf = KafkaOwned<rd_kafka_conf_t, rd_kafka_conf_destroy>;
using KafkaHandle = KafkaOwned<rd_kafka_t, rd_kafka_destroy>;
struct KafkaNonMemberDeleter {
  void operator()(rd_kafka_t* client) const {
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  }
};
// A client with a group's name that is no member: it has no group to leave.
using KafkaNonMember = std::unique_ptr<rd_kafka_t, KafkaNonMemberDeleter>;
using KafkaQueue = KafkaOwned<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using KafkaEvent = KafkaOwned<rd_kafka_event_t, rd_kafka_event_destroy>;
using KafkaMessage = KafkaOwned<rd_kafka_message_t, rd_kafka_message_destroy>;
using KafkaHeaders = KafkaOwned<rd_kafka_headers_t, rd_kafka_headers_destroy>;
using KafkaTopicHandle = KafkaOwned<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using KafkaPartitionList =
    KafkaOwned<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;
using KafkaError = KafkaOwned<rd_kafka_error_t, rd_kafka_error_destroy>;
using KafkaNewTopic = KafkaOwned<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;
using KafkaDeleteTopic = KafkaOwned<rd_kafka_DeleteTopic_t, rd_kafka_DeleteTopic_destroy>;
using KafkaConfigResource = KafkaOwned<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;
using KafkaAdminOptions = KafkaOwned<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy>;

using KafkaGroupMetadata =
    KafkaOwned<rd_kafka_consumer_group_metadata_t, rd_kafka_consumer_group_metadata_destroy>;

struct KafkaMetadataDeleter {
  void operator()(const rd_kafka_metadata_t* metadata) const {
    rd_kafka_metadata_destroy(metadata);
  }
};
using KafkaMetadata = std::unique_ptr<const rd_kafka_metadata_t, KafkaMetadataDeleter>;

}  // namespace eroica
