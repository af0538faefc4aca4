#include "producers/import/tcp_info.h"

#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < line.size();) {
    while (at < line.size() && IsSpace(line[at])) ++at;
    const size_t begin = at;
    while (at < line.size() && !IsSpace(line[at])) ++at;
    if (at > begin) words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

// All of the text is the number.
template <typename T>
bool ReadNumber(std::string_view text, T* number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && rest == text.data() + text.size();
}

// "10.0.0.1:80" of "10.0.0.1%eth0:80" and "[::ffff:10.0.0.1]:80"; nothing where the word is no
// address with a port.
std::optional<std::string> Endpoint(std::string_view word) {
  const size_t colon = word.rfind(':');
  uint16_t port = 0;
  if (colon == std::string_view::npos || colon == 0 || !ReadNumber(word.substr(colon + 1), &port))
    return std::nullopt;
  std::string_view address = word.substr(0, colon);
  if (address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  address = address.substr(0, address.find('%'));
  constexpr std::string_view kMapped = "::ffff:";
  if (address.starts_with(kMapped) && address.find('.') != std::string_view::npos)
    address.remove_prefix(kMapped.size());
  for (const char c : address) {
    const bool known = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
                       c == '.' || c == ':';
    if (!known) return std::nullopt;
  }
  if (address.empty()) return std::nullopt;
  return std::string(address) + ":" + std::to_string(port);
}

// "452ms" of busy:452ms, and "4ms(5.9%)" of rwnd_limited:4ms(5.9%).
bool ReadMilliseconds(std::string_view text, int64_t* ns) {
  text = text.substr(0, text.find('('));
  int64_t milliseconds = 0;
  if (!text.ends_with("ms") || !ReadNumber(text.substr(0, text.size() - 2), &milliseconds))
    return false;
  if (milliseconds < 0 || milliseconds > std::numeric_limits<int64_t>::max() / kNsPerMs)
    return false;
  *ns = milliseconds * kNsPerMs;
  return true;
}

// Of a connection, the time in which data was under way, and the part of it in which the receiver
// had no room for more.
struct BusyTime {
  int64_t all_ns = 0;
  int64_t limited_ns = 0;
};

// False where a number that is of use cannot be read.
bool ReadDetails(const std::vector<std::string_view>& words, size_t first,
                 TcpConnection* connection, BusyTime* busy) {
  bool sound = true;
  for (size_t i = first; i < words.size(); ++i) {
    const size_t colon = words[i].find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = words[i].substr(0, colon);
    const std::string_view value = words[i].substr(colon + 1);
    if (key == "bytes_acked") {
      sound = ReadNumber(value, &connection->bytes) && sound;
    } else if (key == "busy") {
      sound = ReadMilliseconds(value, &busy->all_ns) && sound;
    } else if (key == "rwnd_limited") {
      sound = ReadMilliseconds(value, &busy->limited_ns) && sound;
    } else if (key == "retrans") {
      const size_t slash = value.find('/');  // now and in all
      sound = slash != std::string_view::npos &&
              ReadNumber(value.substr(slash + 1), &connection->retransmits) && sound;
    }
  }
  return sound;
}

class Reader {
 public:
  TcpInfo Read(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      whole_ = end != std::string_view::npos;
      ReadLine(text.substr(0, end));
      text.remove_prefix(whole_ ? end + 1 : text.size());
    }
    if (open_ && !has_details_) {  // its second line never came
      ++info_.truncated;
    } else if (open_) {
      Close();
    }
    return std::move(info_);
  }

 private:
  void ReadLine(std::string_view line) {
    const std::vector<std::string_view> words = Words(line);
    if (words.empty()) return;
    if (IsSpace(line.front()) && open_) return ReadSecondLine(words, 0);
    if (open_) Close();
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      std::optional<std::string> local = Endpoint(words[i]);
      std::optional<std::string> peer = local ? Endpoint(words[i + 1]) : std::nullopt;
      if (!peer) continue;
      current_ = {.local = *std::move(local), .peer = *std::move(peer)};
      busy_ = {};
      open_ = true;
      sound_ = true;
      has_details_ = false;
      if (i + 2 < words.size()) ReadSecondLine(words, i + 2);
      return;
    }
    const bool header =
        words.front() == "State" || words.front() == "Recv-Q" || words.front() == "Netid";
    if (!header) ++info_.malformed;
  }

  // A line without an end may be cut off within a number.
  void ReadSecondLine(const std::vector<std::string_view>& words, size_t first) {
    if (!whole_) {
      open_ = false;
      ++info_.truncated;
      return;
    }
    sound_ = ReadDetails(words, first, &current_, &busy_) && sound_;
    has_details_ = true;
  }

  void Close() {
    open_ = false;
    if (!sound_) {
      ++info_.malformed;
      return;
    }
    current_.SetBusy(busy_.all_ns, busy_.limited_ns);
    const auto [known, added] =
        places_.try_emplace(std::pair(current_.local, current_.peer), info_.connections.size());
    if (added) {
      info_.connections.push_back(std::move(current_));
    } else {
      info_.connections[known->second] = std::move(current_);
    }
  }

  TcpInfo info_;
  std::map<std::pair<std::string, std::string>, size_t> places_;
  TcpConnection current_;
  BusyTime busy_;  // of it
  bool open_ = false;
  bool sound_ = true;
  bool has_details_ = false;
  bool whole_ = true;  // the line at hand has an end
};

}  // namespace

TcpInfo ParseTcpInfo(std::string_view text) { return Reader().Read(text); }

}  // namespace eroica
