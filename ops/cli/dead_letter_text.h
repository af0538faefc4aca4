// Dead letters for people and for programs. Names in them are hostile input: the texts hold no
// control character, and cut very long names; the JSON holds all of them, escaped.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stream_ops/runtime/dead_letter.h"

namespace eroica {

// A table, one line a letter.
std::string DeadLetterTable(const std::vector<DeadLetter>& letters);

// One object on one line. with_payload: and the record's key and value, whatever bytes they are,
// as base64.
std::string DeadLetterJson(const DeadLetter& letter, bool with_payload);

// How many of each reason.
using ReasonCounts = std::map<std::string, uint64_t>;
// "3 dead letters: 2 verifier_failed, 1 too_short", the most frequent first.
std::string ReasonsText(const ReasonCounts& reasons);
std::string ReasonsJson(const ReasonCounts& reasons);

}  // namespace eroica
