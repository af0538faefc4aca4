#include "tests/evaluation/score/run_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <numeric>
#include <thread>
#include <utility>

#include "schemas/mutex.h"

namespace eroica {
namespace {

class Queue {
 public:
  Queue(const std::vector<RunTask>& tasks, const RunQueueOptions& options)
      : tasks_(tasks), options_(options), results_(tasks.size()) {
    waiting_.resize(tasks.size());
    std::iota(waiting_.begin(), waiting_.end(), size_t{0});
    // The longest first, so that nobody is left alone with it at the end.
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [this](size_t a, size_t b) { return Work(a) > Work(b); });
    for (size_t i = 0; i < tasks.size(); ++i) total_ += Work(i);
  }

  void Work() {
    while (const std::optional<size_t> index = Take()) {
      uint64_t told = 0;
      const RunTask& task = tasks_[*index];
      const auto on_steps = [&](uint32_t steps) {
        const uint64_t done = std::min(static_cast<uint64_t>(steps) * task.ranks, Work(*index));
        done_ += done - std::min(told, done);
        told = std::max(told, done);
        return stop_ ? absl::CancelledError("another run failed") : absl::OkStatus();
      };
      absl::StatusOr<std::vector<ScoredRun>> result = task.run(on_steps);
      done_ += Work(*index) - told;
      Finish(*index, std::move(result));
    }
  }

  // Until nothing runs, or a tenth of a second. false: all is done.
  bool Wait() {
    MutexLock lock(mutex_);
    return !changed_.wait_for(lock.native(), std::chrono::milliseconds(100),
                              [this]() EROICA_REQUIRES(mutex_) {
                                return finished_ == tasks_.size() || (stop_ && running_ == 0);
                              });
  }

  absl::StatusOr<std::vector<ScoredRun>> TakeResults() {
    const MutexLock lock(mutex_);
    if (!status_.ok()) return status_;
    std::vector<ScoredRun> all;
    for (std::vector<ScoredRun>& runs : results_) {
      for (ScoredRun& run : runs) all.push_back(std::move(run));
    }
    return all;
  }

  uint64_t done() const { return done_; }
  uint64_t total() const { return total_; }

 private:
  uint64_t Work(size_t index) const {
    return static_cast<uint64_t>(tasks_[index].ranks) * tasks_[index].steps;
  }
  bool Big(size_t index) const { return tasks_[index].ranks > options_.big_ranks; }

  // The next task that may start now, waiting for one where a big one runs; nothing where there is
  // none any more.
  std::optional<size_t> Take() {
    MutexLock lock(mutex_);
    const auto next = [this]() EROICA_REQUIRES(mutex_) {
      return std::find_if(waiting_.begin(), waiting_.end(),
                          [this](size_t index)
                              EROICA_REQUIRES(mutex_) { return !Big(index) || !big_runs_; });
    };
    changed_.wait(lock.native(), [&]() EROICA_REQUIRES(mutex_) {
      return stop_ || waiting_.empty() || next() != waiting_.end();
    });
    if (stop_ || waiting_.empty()) return std::nullopt;
    const auto it = next();
    const size_t index = *it;
    waiting_.erase(it);
    if (Big(index)) big_runs_ = true;
    ++running_;
    changed_.notify_all();  // who waits for a task may have lost its last one
    return index;
  }

  void Finish(size_t index, absl::StatusOr<std::vector<ScoredRun>> result) {
    const MutexLock lock(mutex_);
    if (Big(index)) big_runs_ = false;
    --running_;
    ++finished_;
    if (result.ok()) {
      results_[index] = *std::move(result);
    } else if (!stop_) {
      status_ = absl::Status(
          result.status().code(),
          fmt::format("{}: {}", tasks_[index].name, std::string(result.status().message())));
      stop_ = true;
    }
    changed_.notify_all();
  }

  const std::vector<RunTask>& tasks_;
  const RunQueueOptions& options_;
  uint64_t total_ = 0;
  std::atomic<uint64_t> done_ = 0;
  std::atomic<bool> stop_ = false;
  Mutex mutex_;
  std::condition_variable changed_;
  std::vector<size_t> waiting_ EROICA_GUARDED_BY(mutex_);
  std::vector<std::vector<ScoredRun>> results_ EROICA_GUARDED_BY(mutex_);
  bool big_runs_ EROICA_GUARDED_BY(mutex_) = false;
  int running_ EROICA_GUARDED_BY(mutex_) = 0;
  size_t finished_ EROICA_GUARDED_BY(mutex_) = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<std::vector<ScoredRun>> RunTasks(const std::vector<RunTask>& tasks,
                                                const RunQueueOptions& options,
                                                const QueueProgress& progress) {
  Queue queue(tasks, options);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::max(1, options.threads); ++i)
      threads.emplace_back([&queue] { queue.Work(); });
    while (queue.Wait()) {
      if (progress) progress(queue.done(), queue.total());
    }
  }
  return queue.TakeResults();
}

}  // namespace eroica
