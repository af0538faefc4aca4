// What the records of a recording are, counted as they pass: the part of its manifest that is known
// only when all were seen. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "ops/archive/content_digest.h"
#include "ops/archive/manifest.h"
#include "schemas/codec.h"
#include "stream_ops/log/log.h"

namespace eroica {

class Contents {
 public:
  void Add(const ConsumerRecord& record);
  uint64_t records() const { return records_; }
  uint64_t bytes() const { return bytes_; }
  // Topics and jobs. The topics' partitions and settings are the caller's to add. Last.
  void Finish(Manifest* manifest);

 private:
  struct Partition {
    PartitionManifest manifest;
    ContentDigest digest;
  };
  struct Job {
    JobManifest manifest;
    std::set<uint32_t> ranks;
  };

  void AddToJob(const ConsumerRecord& record, const std::string& name);

  std::map<TopicPartition, Partition> partitions_;
  std::map<std::string, Job> jobs_;
  Decoder decoder_;
  PatternBatch patterns_;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace eroica
