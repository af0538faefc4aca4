// Standard output that says when it could not be written: a full disk must not look like a healthy
// job. Everything goes through std::cout. One instance, while main runs.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <iostream>
#include <streambuf>

namespace eroica {

// Gives standard input, output and error that are closed something that cannot be read or written,
// so that no file that is opened later takes their number. Before anything else.
void HoldStandardDescriptors();

class StandardOutput final : private std::streambuf {
 public:
  StandardOutput();
  ~StandardOutput() override;
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // Writes what is left. What failed, now or earlier; the rest of what was printed is lost then.
  // Where nobody reads any more, the process ends as other filters do: quietly, by SIGPIPE.
  absl::Status Finish();

 private:
  int overflow(int character) override;
  std::streamsize xsputn(const char* text, std::streamsize length) override;
  int sync() override;
  bool Write(const char* text, size_t length);
  bool FlushBuffer();

  std::array<char, 8192> buffer_;
  int error_ = 0;  // errno of the first write that failed
  std::streambuf* before_ = nullptr;
};

}  // namespace eroica
