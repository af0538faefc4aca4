// What the runtime counts of a stage. Plain numbers, owned by one thread; readers get copies
// (StageThreads::Probes). ops exposes them as metrics.
// Books, after every step: received = processed + ignored + pending; dead letters are among the
// processed, but for those of ranges that the log could not give, which nobody received.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "schemas/drop_reason.h"
#include "stream_ops/log/client_measures.h"

namespace eroica {

struct StageProbe {
  uint64_t records_received = 0;
  uint64_t bytes_received = 0;
  uint64_t records_processed = 0;
  // of partitions that are not ours (yet, any more), behind the task's position, or left at a
  // restart of the tasks, to be read again
  uint64_t records_ignored = 0;
  uint64_t records_pending = 0;  // polled and not processed yet, now
  uint64_t records_emitted = 0;
  uint64_t bytes_emitted = 0;
  // One for each range that the log could not give (kUnreadable); the others are of one record.
  std::map<DropReason, uint64_t> dead_letters;
  // were on the dead-letter topic already before a restart: not sent again
  uint64_t dead_letters_replayed = 0;
  uint64_t dead_letters_cut = 0;  // were larger than the log takes
  // Never emitted: they broke the rules of their type, or the log refused them for good.
  std::map<DropReason, uint64_t> outputs_dropped;
  // Events that go into no window. Those that are read again for windows still open count once.
  std::map<DropReason, uint64_t> events_unused;
  // Closed before all had come, for want of memory: what still came for them is among the unused.
  uint64_t windows_forced = 0;
  uint64_t changelog_records = 0;
  uint64_t changelog_bytes = 0;
  uint64_t changelog_records_read = 0;  // to restore tasks that came from other nodes
  uint64_t corrupt_bytes = 0;           // skipped by the log itself
  uint64_t records_unreadable = 0;      // offsets that the log holds and could not give
  uint64_t changelog_unreadable = 0;    // the same, of changelogs that tasks were restored from
  uint64_t commits = 0;
  uint64_t idle_punctuations = 0;
  uint64_t retries = 0;  // after an error that may pass
  // tasks set back to their last commit, because outputs were lost on their way
  uint64_t restarts = 0;
  uint64_t errors = 0;           // that stopped the stage
  uint64_t tasks = 0;            // open now
  uint64_t tasks_restoring = 0;  // ours, but not open yet
  // Open, but not read now: those that are further behind come first (reading_order.h).
  uint64_t tasks_waiting = 0;
  uint64_t unloads = 0;  // of tasks that let go of their windows, to read them again
  // A second old at most.
  ClientMeasures consumer;
  ClientMeasures producer;

  void Add(const StageProbe& other) {
    records_received += other.records_received;
    bytes_received += other.bytes_received;
    records_processed += other.records_processed;
    records_ignored += other.records_ignored;
    records_pending += other.records_pending;
    records_emitted += other.records_emitted;
    bytes_emitted += other.bytes_emitted;
    for (const auto& [reason, count] : other.dead_letters) dead_letters[reason] += count;
    dead_letters_replayed += other.dead_letters_replayed;
    dead_letters_cut += other.dead_letters_cut;
    for (const auto& [reason, count] : other.outputs_dropped) outputs_dropped[reason] += count;
    for (const auto& [reason, count] : other.events_unused) events_unused[reason] += count;
    windows_forced += other.windows_forced;
    changelog_records += other.changelog_records;
    changelog_bytes += other.changelog_bytes;
    changelog_records_read += other.changelog_records_read;
    corrupt_bytes += other.corrupt_bytes;
    records_unreadable += other.records_unreadable;
    changelog_unreadable += other.changelog_unreadable;
    commits += other.commits;
    idle_punctuations += other.idle_punctuations;
    retries += other.retries;
    restarts += other.restarts;
    errors += other.errors;
    tasks += other.tasks;
    tasks_restoring += other.tasks_restoring;
    tasks_waiting += other.tasks_waiting;
    unloads += other.unloads;
    consumer.Add(other.consumer);
    producer.Add(other.producer);
  }
};

}  // namespace eroica
