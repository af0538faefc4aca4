#include "ops/cli/version_text.h"

#include <flatbuffers/base.h>
#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <rocksdb/version.h>

#include <boost/version.hpp>

#include "git_commit_generated.h"

namespace eroica {

std::string VersionText() {
  return fmt::format(
      "eroica {}\n"
      "commit      {}\n"
      "build       {}\n"
      "librdkafka  {}\n"
      "RocksDB     {}\n"
      "FlatBuffers {}.{}.{}\n"
      "Boost       {}.{}.{}",
      EROICA_VERSION, EROICA_COMMIT, EROICA_BUILD_TYPE, rd_kafka_version_str(),
      rocksdb::GetRocksVersionAsString(), FLATBUFFERS_VERSION_MAJOR, FLATBUFFERS_VERSION_MINOR,
      FLATBUFFERS_VERSION_REVISION, BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1'000,
      BOOST_VERSION % 100);
}

}  // namespace eroica
