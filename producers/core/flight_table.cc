#include "producers/core/flight_table.h"

#include <algorithm>
#include <tuple>

namespace eroica {
namespace {

constexpr uint64_t kPhaseMask = 3;
constexpr unsigned kGenerationShift = 2;
constexpr size_t kProbes = 64;

template <typename Row>
auto OrderOf(const Row& row) {
  return std::tuple(row.communicator, row.operation, row.peer);
}

}  // namespace

uint64_t FlightTable::KeyOf(const InFlightCollective& row) {
  return uint64_t{row.communicator} << 40 | uint64_t{static_cast<uint8_t>(row.operation)} << 32 |
         uint64_t{static_cast<uint32_t>(row.peer)};
}

void FlightTable::Unpack(uint64_t key, uint16_t* communicator, CollectiveOperation* operation,
                         int32_t* peer) {
  *communicator = static_cast<uint16_t>(key >> 40);
  *operation = static_cast<CollectiveOperation>(key >> 32 & 0xFF);
  *peer = static_cast<int32_t>(static_cast<uint32_t>(key));
}

FlightTable::Counter* FlightTable::CounterOf(uint64_t key) {
  const size_t start = static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 40);
  for (size_t i = 0; i < kProbes; ++i) {
    Counter& counter = counters_[(start + i) % kCounters];
    uint64_t found = counter.key.load(std::memory_order_acquire);
    if (found == 0 &&
        counter.key.compare_exchange_strong(found, key + 1, std::memory_order_acq_rel))
      return &counter;
    if (found == key + 1) return &counter;
  }
  return nullptr;
}

FlightTable::Launched FlightTable::Launch(InFlightCollective in_flight) {
  const uint64_t key = KeyOf(in_flight);
  Counter* counter = CounterOf(key);
  if (counter == nullptr) return {};
  if (in_flight.sequence == kCount) {
    in_flight.sequence = counter->launched.fetch_add(1, std::memory_order_relaxed);
  } else {
    uint64_t launched = counter->launched.load(std::memory_order_relaxed);
    while (launched <= in_flight.sequence &&
           !counter->launched.compare_exchange_weak(launched, in_flight.sequence + 1,
                                                    std::memory_order_relaxed)) {
    }
  }
  changes_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t start = next_.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kProbes; ++i) {
    const uint32_t number = (start + i) % kSlots;
    Slot& slot = slots_[number];
    uint64_t state = slot.state.load(std::memory_order_relaxed);
    if ((state & kPhaseMask) != kFree) continue;
    if (!slot.state.compare_exchange_strong(state, state | kTaken, std::memory_order_acq_rel))
      continue;
    // Released, and acquired by Read: who sees one of these sees that the slot was taken before.
    slot.sequence.store(in_flight.sequence, std::memory_order_release);
    slot.bytes.store(in_flight.bytes, std::memory_order_release);
    slot.launched_ns.store(in_flight.launched_ns, std::memory_order_release);
    slot.key.store(key, std::memory_order_release);
    const uint64_t generation = state >> kGenerationShift;
    slot.state.store(generation << kGenerationShift | kWaiting, std::memory_order_release);
    return {.ticket = (generation * kSlots + number) + 1, .sequence = in_flight.sequence};
  }
  return {.ticket = 0, .sequence = in_flight.sequence};
}

bool FlightTable::Start(uint64_t ticket) {
  if (ticket == 0) return false;
  Slot& slot = slots_[(ticket - 1) % kSlots];
  uint64_t expected = (ticket - 1) / kSlots << kGenerationShift | kWaiting;
  return slot.state.compare_exchange_strong(expected, (expected & ~kPhaseMask) | kRunning,
                                            std::memory_order_acq_rel);
}

std::optional<InFlightCollective> FlightTable::End(uint64_t ticket) {
  if (ticket == 0) return std::nullopt;
  Slot& slot = slots_[(ticket - 1) % kSlots];
  const uint64_t generation = (ticket - 1) / kSlots;
  for (const uint64_t phase : {kRunning, kWaiting}) {
    uint64_t expected = generation << kGenerationShift | phase;
    if (!slot.state.compare_exchange_strong(expected, generation << kGenerationShift | kTaken,
                                            std::memory_order_acq_rel))
      continue;
    const InFlightCollective ended = Read(slot, phase);
    slot.state.store((generation + 1) << kGenerationShift | kFree, std::memory_order_release);
    changes_.fetch_add(1, std::memory_order_relaxed);
    return ended;
  }
  return std::nullopt;
}

InFlightCollective FlightTable::Read(const Slot& slot, uint64_t phase) {
  InFlightCollective row;
  Unpack(slot.key.load(std::memory_order_acquire), &row.communicator, &row.operation, &row.peer);
  row.started = phase == kRunning;
  row.sequence = slot.sequence.load(std::memory_order_acquire);
  row.bytes = slot.bytes.load(std::memory_order_acquire);
  row.launched_ns = slot.launched_ns.load(std::memory_order_acquire);
  return row;
}

std::vector<InFlightCollective> FlightTable::InFlight() const {
  std::vector<InFlightCollective> rows;
  for (const Slot& slot : slots_) {
    const uint64_t state = slot.state.load(std::memory_order_acquire);
    if ((state & kPhaseMask) != kWaiting && (state & kPhaseMask) != kRunning) continue;
    const InFlightCollective row = Read(slot, state & kPhaseMask);
    if (slot.state.load(std::memory_order_relaxed) == state) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const InFlightCollective& x, const InFlightCollective& y) {
    return std::tuple(OrderOf(x), x.sequence) < std::tuple(OrderOf(y), y.sequence);
  });
  return rows;
}

std::vector<OperationCount> FlightTable::Operations(
    const std::vector<InFlightCollective>& in_flight) const {
  std::vector<OperationCount> rows;
  for (const Counter& counter : counters_) {
    const uint64_t key = counter.key.load(std::memory_order_acquire);
    if (key == 0) continue;
    OperationCount row;
    Unpack(key - 1, &row.communicator, &row.operation, &row.peer);
    row.launched = counter.launched.load(std::memory_order_relaxed);
    row.completed = row.launched;
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& x, const auto& y) { return OrderOf(x) < OrderOf(y); });
  // The oldest that is in flight has not ended: in_flight is sorted, so it comes first of its kind.
  for (auto row = in_flight.rbegin(); row != in_flight.rend(); ++row) {
    const auto count =
        std::lower_bound(rows.begin(), rows.end(), *row,
                         [](const auto& x, const auto& y) { return OrderOf(x) < OrderOf(y); });
    if (count == rows.end() || OrderOf(*count) != OrderOf(*row)) continue;
    count->launched = std::max(count->launched, row->sequence + 1);
    count->completed = row->sequence;
  }
  return rows;
}

}  // namespace eroica
