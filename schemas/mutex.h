// A mutex and its lock whose rules Clang checks (-Wthread-safety). A member that is
// EROICA_GUARDED_BY(mutex_) is read and written under a MutexLock alone; a function that is
// EROICA_REQUIRES(mutex_) is called under one. std::mutex of libstdc++ has no such annotations.
// The macros are empty for other compilers. Waiting: condition.wait(lock.native(), ...), by any
// condition variable of std; the mutex counts as held all along.
#pragma once

#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define EROICA_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define EROICA_THREAD_SAFETY(attribute)
#endif

#define EROICA_GUARDED_BY(mutex) EROICA_THREAD_SAFETY(guarded_by(mutex))
#define EROICA_REQUIRES(...) EROICA_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define EROICA_REQUIRES_SHARED(...) EROICA_THREAD_SAFETY(requires_shared_capability(__VA_ARGS__))

namespace eroica {

class EROICA_THREAD_SAFETY(capability("mutex")) Mutex {
 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds the mutex from its construction to its end, but between Unlock and Lock.
class EROICA_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) EROICA_THREAD_SAFETY(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() EROICA_THREAD_SAFETY(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Lock() EROICA_THREAD_SAFETY(acquire_capability()) { lock_.lock(); }
  void Unlock() EROICA_THREAD_SAFETY(release_capability()) { lock_.unlock(); }
  // For a condition variable, which has the mutex locked when it returns.
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

// Many readers or one writer.
class EROICA_THREAD_SAFETY(capability("mutex")) SharedMutex {
 private:
  friend class ReaderLock;
  friend class WriterLock;
  std::shared_mutex mutex_;
};

class EROICA_THREAD_SAFETY(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) EROICA_THREAD_SAFETY(acquire_shared_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~ReaderLock() EROICA_THREAD_SAFETY(release_capability()) = default;
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

class EROICA_THREAD_SAFETY(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) EROICA_THREAD_SAFETY(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~WriterLock() EROICA_THREAD_SAFETY(release_capability()) = default;
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace eroica
