// What `eroica check` concludes: which sources of events a job on this machine would have, and why
// not the rest. Pure: from facts (machine_facts.h gathers them), so that every machine can be made
// up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/cli/job_environment.h"

namespace eroica {

struct PythonFacts {
  std::string path;   // that is first on PATH; empty: there is none
  std::string error;  // why it could not be asked
  int major = 0;
  int minor = 0;
  std::string import_error;  // of `import eroica` with the variables of a run; empty: it works
  std::string torch;         // version; empty: not installed
  std::vector<std::string> cuda_libraries;  // libcupti and libnccl that lie with its packages
};

struct MachineFacts {
  std::optional<ProducerFiles> files;
  std::string files_error;  // where there are none
  std::string core_error;   // why the core library does not load
  std::string place;        // that a recording would go to; empty: Kafka is asked for
  std::string place_error;  // why nothing can be written there
  uint64_t place_free_bytes = 0;
  PythonFacts python;
  bool has_sampler = false;  // liberoica_python.so beside the core
  std::string driver_error;  // why libcuda.so.1 does not load; empty: it does
  std::string libcupti;      // that would be found; empty: none
  std::string libnccl;
  bool schedstat = false;
  bool context_switches = false;  // of its own threads
  bool proc_stat = false;
  bool pressure = false;
  std::vector<std::string> network_ports;  // with counters, of Ethernet and InfiniBand
  std::string tcp_info_error;
  std::string nvml_error;
  unsigned gpus = 0;
  std::string kafka;        // empty: not asked for
  std::string kafka_error;  // why it cannot be reached
  std::vector<std::string> topic_problems;
  GetVariable variable;
};

enum class Capture { kYes, kPartly, kNo };
std::string ToString(Capture capture);

struct SourceCheck {
  std::string source;
  Capture capture = Capture::kNo;
  std::string why;    // one sentence
  std::string to_do;  // what to do about what is missing; empty: nothing
};

// One a source, in the order in which a reader asks.
std::vector<SourceCheck> CheckSources(const MachineFacts& facts);

// Whether a job can be captured: the core loads, it has a place to send to, and Python or NCCL
// tells it of steps or collectives.
bool CanCapture(const std::vector<SourceCheck>& checks);

}  // namespace eroica
