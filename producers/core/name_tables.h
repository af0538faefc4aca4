// What events refer to by number: functions, lanes, communicators of this process. Numbers are
// never given twice and never change. Thread-safe: a lock that is held for a look-up only;
// producers keep the numbers, so no callback meets it twice for one name.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/event_batch.h"
#include "schemas/mutex.h"

namespace eroica {

class NameTables {
 public:
  static constexpr uint32_t kMaxFunctions = 16'384;
  static constexpr uint32_t kMaxNameBytes = 4'096;
  static constexpr size_t kMaxNamesBytes = size_t{8} << 20;  // of all functions
  static constexpr uint8_t kMaxLanes = 255;
  static constexpr uint16_t kMaxCommunicators = 4'095;
  static constexpr uint16_t kNoCommunicator = 0xFFFF;

  NameTables();

  // The one for all functions of a class that have no number of their own.
  static uint32_t OtherFunctions(FunctionClass function_class) {
    return static_cast<uint32_t>(function_class);
  }
  // A parent that is no number is taken for none; a stack deeper than the codec takes loses its
  // callers.
  // Where the table is full: the one for all other functions of the class, and *full is set.
  uint32_t Function(std::string_view name, FunctionClass function_class, WaitKind wait,
                    uint32_t parent, bool* full);
  // Where the table is full: its last lane.
  uint8_t LaneOf(std::string_view name, LaneKind kind);
  // kNoCommunicator where the table is full.
  uint16_t CommunicatorOf(const Communicator& communicator);

  // The function's name and its callers', outermost first; empty where it is no number.
  std::vector<std::string> PathTo(uint32_t function) const;

  // Rows that the caller has not seen yet, appended to what it has. Emitter's thread.
  void CopyNew(std::vector<FunctionDef>* functions, std::vector<Lane>* lanes,
               std::vector<Communicator>* communicators) const;
  size_t memory_bytes() const;

 private:
  struct FunctionKey {
    uint64_t name;  // hash of name, class and wait
    uint32_t parent;
    friend bool operator==(const FunctionKey&, const FunctionKey&) = default;
  };
  struct HashKey {
    size_t operator()(const FunctionKey& key) const {
      return key.name ^ key.parent * 0x9E3779B97F4A7C15u;
    }
  };

  mutable Mutex mutex_;
  std::deque<FunctionDef> functions_ EROICA_GUARDED_BY(mutex_);
  std::vector<uint16_t> depths_ EROICA_GUARDED_BY(mutex_);  // by function
  std::unordered_map<FunctionKey, uint32_t, HashKey> function_numbers_ EROICA_GUARDED_BY(mutex_);
  size_t name_bytes_ EROICA_GUARDED_BY(mutex_) = 0;
  std::vector<Lane> lanes_ EROICA_GUARDED_BY(mutex_);
  std::vector<Communicator> communicators_ EROICA_GUARDED_BY(mutex_);
};

}  // namespace eroica
