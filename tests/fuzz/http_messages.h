// Messages of HTTP/1.1 for the fuzz targets of the server and the client: good ones by a grammar
// (lengths, chunks, trailers, pipelining, event streams), and changes that keep the structure:
// lines repeated or dropped, numbers replaced, stretches of one message in another. Byte for byte
// the same for the same seed. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace eroica {

class HttpMessages {
 public:
  enum class Side : uint8_t { kRequests, kAnswers };
  HttpMessages(Side side, uint64_t seed) : side_(side), random_(seed) {}

  // One connection's bytes of this side, of one or more messages.
  std::string Good();
  // text, changed in some places.
  std::string Changed(std::string text);

 private:
  size_t Below(size_t bound) { return random_() % bound; }
  bool OneIn(size_t count) { return Below(count) == 0; }
  template <size_t N>
  std::string OneOf(const char* const (&words)[N]) {
    return words[Below(N)];
  }
  std::string Request();
  std::string Answer();
  std::string Json();
  std::string Headers();
  // The headers that delimit the body, the empty line, and the body.
  std::string Framed(const std::string& body);
  std::string Chunks(const std::string& body);
  std::string Number();
  void Change(std::string* text);

  const Side side_;
  std::mt19937_64 random_;
};

}  // namespace eroica
