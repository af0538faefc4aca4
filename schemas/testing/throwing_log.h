// A log that throws what is no std::exception, which spdlog passes on: what a callback meets whose
// only work is a line. Header alone, so that only those that log link spdlog.
#pragma once

#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace eroica {

// While it lives, it is the default logger: it throws 7 at each line that holds `text`, on whatever
// thread, and drops the others.
class ThrowingLog {
 public:
  explicit ThrowingLog(std::string text) : before_(spdlog::default_logger()) {
    sink_->text = std::move(text);
    auto logger = std::make_shared<spdlog::logger>("throws", sink_);
    logger->set_error_handler([](const std::string&) {});  // spdlog says it on standard error
    spdlog::set_default_logger(std::move(logger));
  }
  ~ThrowingLog() { spdlog::set_default_logger(before_); }
  ThrowingLog(const ThrowingLog&) = delete;
  ThrowingLog& operator=(const ThrowingLog&) = delete;

  int thrown() const { return sink_->thrown; }

 private:
  struct Sink final : spdlog::sinks::sink {
    void log(const spdlog::details::log_msg& message) override {
      if (std::string_view(message.payload.data(), message.payload.size()).find(text) ==
          std::string_view::npos)
        return;
      ++thrown;
      throw 7;
    }
    void flush() override {}
    void set_pattern(const std::string&) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

    std::string text;
    std::atomic<int> thrown{0};
  };

  const std::shared_ptr<spdlog::logger> before_;
  const std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
};

}  // namespace eroica
