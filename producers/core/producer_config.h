// What the core is told by environment variables, the only way into a process that is not ours.
// Each is declared once (producer_config.cc); docs/PRODUCERS.md lists them. A value that cannot be
// is an error that names the variable; a variable that nobody knows is a warning.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace eroica {

struct ProducerConfig {
  bool disabled = false;  // EROICA_DISABLE: the kill switch
  std::string recording;  // EROICA_RECORDING: folder of the recording that ranks of this host write
  std::string bootstrap;  // EROICA_BOOTSTRAP: Kafka, host:port, several separated by commas
  // EROICA_KAFKA: librdkafka's, key=value;key=value. Of key_file=PATH the value is in the file.
  std::map<std::string, std::string> kafka_properties;
  bool null_transport = false;  // EROICA_NULL: events are encoded and thrown away (measurements)
  std::string topic_prefix = "eroica";  // EROICA_TOPIC_PREFIX
  std::string job;                      // EROICA_JOB, else the scheduler's job id, else "training"
  int64_t rank = -1;                    // EROICA_RANK, else what launchers set; -1: not said
  int64_t world_size = -1;              // EROICA_WORLD_SIZE, likewise
  std::string role;                     // EROICA_ROLE: position in the parallel layout
  int level = 2;  // EROICA_LEVEL: 0, 1, 2; 1 over Kafka and 2 into a recording by default
  uint32_t window_steps = 32;  // EROICA_WINDOW_STEPS
  // EROICA_FIRST_STEP: number of this process's first step, where it goes on with what another did
  int64_t first_step = 0;
  std::string ranks = "all";  // EROICA_RANKS: "all", "every N", or "0,8,16-23"
  std::string exchange;       // EROICA_EXCHANGE: folder that the ranks of the job share
  double host_hz = 2;         // EROICA_HOST_HZ: of the processor's samples; 0: none
  // EROICA_REQUESTS: a rank that is slow or blocked asks for a capture window
  bool requests = true;
  uint32_t send_interval_ms = 500;   // EROICA_SEND_MS: no batch is held back for longer
  std::vector<std::string> unknown;  // EROICA_* variables that nobody knows
};

// environment: a variable's value, nothing where it is not set. names: all variables that are set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
absl::StatusOr<ProducerConfig> ReadProducerConfig(const Environment& environment,
                                                  const std::vector<std::string>& names);
// Of this process.
absl::StatusOr<ProducerConfig> ReadProducerConfig();

// Whether EROICA_RANKS takes the rank in. kInvalidArgument for a text that it cannot read.
absl::StatusOr<bool> SelectsRank(const std::string& ranks, uint32_t rank);

}  // namespace eroica
