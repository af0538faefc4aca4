// Asks a running program over HTTP, for tests: it says in its log where it listens.
#pragma once

#include <string>

#include "ops/rest/testing/raw_client.h"

namespace eroica {

// err: the program's log so far. The body of the answer; empty before it listens.
inline std::string AskProgram(const std::string& err, const std::string& target) {
  const std::string mark = "listening url=http://127.0.0.1:";
  const size_t at = err.find(mark);
  if (at == std::string::npos || err.find('\n', at) == std::string::npos) return "";
  RawClient client(static_cast<uint16_t>(std::stoi(err.substr(at + mark.size()))));
  if (!client.connected() || !client.Get(target)) return "";
  return client.Read().body;
}

}  // namespace eroica
