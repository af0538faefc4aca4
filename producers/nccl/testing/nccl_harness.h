// NCCL's side of the profiler ABI, for tests: calls a function table of version 3 to 7 with the
// descriptors that NCCL of that version fills, among them what newer NCCL leaves out for older
// tables (version 4 not cleared, types cut to 8 bits, no timers in version 3). Thread-safe as far
// as the table is; the caller plays NCCL's threads.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

namespace eroica::nccl {

struct HarnessCommunicator {
  uint64_t id = 0;
  std::string name;
  int nodes = 1;
  int ranks = 1;
  int rank = 0;
  void* context = nullptr;
};

struct HarnessOperation {
  const char* func = "AllReduce";
  const char* datatype = "ncclFloat32";
  uint64_t count = 1'024;
  uint64_t sequence = 0;
  bool point_to_point = false;
  int peer = -1;
  uint8_t channels = 2;
  bool symmetric = false;  // of a symmetric kernel; versions before 7 do not say it
};

struct HarnessProxyOp {
  int pid = getpid();
  int peer = 1;
  bool is_send = true;
};

class NcclHarness {
 public:
  virtual ~NcclHarness() = default;

  // Each returns what the table did; starts return the handle, which held garbage before.
  virtual int Init(HarnessCommunicator* communicator) = 0;
  virtual void* Start(const HarnessCommunicator& communicator, const HarnessOperation& op) = 0;
  virtual void* StartProxyOp(const HarnessCommunicator& communicator, void* parent,
                             const HarnessProxyOp& op) = 0;
  virtual void* StartKernelChannel(const HarnessCommunicator& communicator, void* parent,
                                   uint8_t channel, uint64_t timer) = 0;
  // A type with nothing but its parent, or that nobody knows.
  virtual void* StartOfType(const HarnessCommunicator& communicator, uint64_t type,
                            void* parent) = 0;
  // State with its argument; what version 3 does not signal is not called.
  virtual int Record(void* handle, int state, uint64_t argument) = 0;
  virtual int Stop(void* handle) = 0;
  virtual int Finalize(void* context) = 0;
  // Null pointers wherever the ABI takes one. True: all answered success.
  virtual bool PassNulls(const HarnessCommunicator& communicator) = 0;
  virtual int version() const = 0;

  // As NCCL does it: the state with the timer, then the stop.
  void StopKernelChannel(void* handle, uint64_t timer);
  // The one mask of the process, 0 when a harness is made. As NCCL's it lies in a library or in the
  // program.
  int& mask;

 protected:
  NcclHarness();
};

// profiler: the address of an ncclProfiler_v<version>.
std::unique_ptr<NcclHarness> MakeNcclHarness(int version, void* profiler);

}  // namespace eroica::nccl
