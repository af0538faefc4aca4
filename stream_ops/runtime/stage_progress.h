// Whether a stage of this process has input that it has not processed, for the later stages: a
// recording does not know it. Thread-safe; shared by the threads of the stage and of later ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace eroica {

class StageProgress {
 public:
  bool caught_up() const { return behind_.load() == 0; }

  // One thread's part of it. Before it has said anything it is not behind.
  class Share {
   public:
    explicit Share(std::shared_ptr<StageProgress> progress) : progress_(std::move(progress)) {}
    ~Share() { Set(false); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Its outputs about what it has processed are in the log.
    void Set(bool behind) {
      if (progress_ == nullptr || behind == behind_) return;
      behind_ = behind;
      if (behind) {
        progress_->behind_.fetch_add(1);
      } else {
        progress_->behind_.fetch_sub(1);
      }
    }

   private:
    const std::shared_ptr<StageProgress> progress_;
    bool behind_ = false;
  };

 private:
  std::atomic<uint64_t> behind_{0};
};

}  // namespace eroica
