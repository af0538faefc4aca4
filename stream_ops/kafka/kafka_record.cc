#include "stream_ops/kafka/kafka_record.h"

namespace eroica {

ConsumerRecord ReadKafkaRecord(const rd_kafka_message_t& message, const TopicPartition& partition) {
  ConsumerRecord record{.topic = partition.topic,
                        .partition = partition.partition,
                        .offset = message.offset,
                        .key = {},
                        .value = {},
                        .headers = {}};
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const int64_t timestamp = rd_kafka_message_timestamp(&message, &type);
  if (type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE) record.timestamp_ms = timestamp;
  record.stamped_at_arrival = type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME;
  if (message.key != nullptr)
    record.key.assign(static_cast<const char*>(message.key), message.key_len);
  if (message.payload != nullptr)
    record.value.assign(static_cast<const char*>(message.payload), message.len);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    for (size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      record.headers.emplace_back(name, value == nullptr
                                            ? std::string()
                                            : std::string(static_cast<const char*>(value), size));
    }
  }
  return record;
}

}  // namespace eroica
