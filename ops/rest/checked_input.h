// What is common to reading a request's query and its body: the first thing that is wrong is kept,
// and a name that nobody has read is wrong, too.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ops/rest/response.h"

namespace eroica {

inline constexpr size_t kJobCharactersMax = 1'024;  // of a job's name

class CheckedInput {
 public:
  // kind: "parameter" or "field", for the sentences.
  CheckedInput(std::string_view kind, std::string_view target) : kind_(kind), target_(target) {}

  void Require(bool given, const std::string& name);
  void Fail(const std::string& what);

 protected:
  // The name is one that may be given.
  void MarkRead(const std::string& name) { read_.insert(name); }
  // RFC 3339, to milliseconds since 1970; nothing for another text, which is wrong.
  std::optional<int64_t> ReadTimeMs(const std::string& name, const std::string& text);
  // The problem to answer with, of these names that were given; nothing where all is well.
  std::optional<HttpResponse> RefuseOf(const std::vector<std::string>& given);

 private:
  const std::string_view kind_;
  const std::string_view target_;
  std::set<std::string> read_;
  std::string error_;
};

}  // namespace eroica
