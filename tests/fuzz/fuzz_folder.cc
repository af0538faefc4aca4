#include "tests/fuzz/fuzz_folder.h"

#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace eroica {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kBegin = "folder\n";
constexpr std::string_view kFile = "=== ";
constexpr std::string_view kEnd = "end";
constexpr size_t kMostFiles = 16;
constexpr size_t kLongestName = 100;

std::string Compressed(std::string_view content) {
  z_stream stream{};
  std::string out(compressBound(content.size()) + 64, '\0');
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return "";
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void AppendLittle(uint64_t value, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

void AppendText(const std::string& text, std::string* out) {
  out->push_back('X');
  AppendLittle(text.size(), 4, out);
  *out += text;
}

void AppendPickle(const Json& value, std::string* out) {
  switch (value.type()) {
    case Json::value_t::object:
      *out += "}(";
      for (const auto& [key, member] : value.items()) {
        AppendText(key, out);
        AppendPickle(member, out);
      }
      out->push_back('u');
      return;
    case Json::value_t::array:
      *out += "](";
      for (const Json& item : value) AppendPickle(item, out);
      out->push_back('e');
      return;
    case Json::value_t::string: return AppendText(value.get<std::string>(), out);
    case Json::value_t::boolean: out->push_back(value.get<bool>() ? '\x88' : '\x89'); return;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      *out += "\x8a\x08";
      return AppendLittle(static_cast<uint64_t>(value.get<int64_t>()), 8, out);
    default: out->push_back('N');
  }
}

}  // namespace

std::optional<FolderArchive> ParseFolderArchive(std::span<const uint8_t> input) {
  std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  if (!text.starts_with(kBegin)) return std::nullopt;
  text.remove_prefix(kBegin.size());
  FolderArchive archive;
  while (text.starts_with(kFile) && archive.files.size() < kMostFiles) {
    const size_t line = text.find('\n');
    const std::string name(text.substr(kFile.size(), line - kFile.size()));
    text = line == std::string_view::npos ? std::string_view() : text.substr(line + 1);
    if (name == kEnd) break;
    const size_t next = text.find("\n=== ");
    archive.files[name] = std::string(text.substr(0, next));
    text = next == std::string_view::npos ? std::string_view() : text.substr(next + 1);
  }
  archive.choices = input.last(text.size());
  return archive;
}

void WriteFolder(const FuzzFolder& files, const std::filesystem::path& folder) {
  for (const auto& [name, content] : files) {
    std::string kept = name.substr(0, kLongestName);
    std::ranges::replace(kept, '/', '_');
    std::ranges::replace(kept, '\0', '_');
    if (kept.empty() || kept == "." || kept == "..") continue;
    std::ofstream(folder / kept, std::ios::binary)
        << (kept.ends_with(".gz") ? Compressed(content) : content);
  }
}

std::string PickleOfJson(std::string_view json) {
  const Json value = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return std::string(json);
  std::string out = "\x80\x02";
  AppendPickle(value, &out);
  return out + '.';
}

}  // namespace eroica
