// A folder of traces and dumps in memory, as the fuzz target of whole folders makes and changes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace eroica {

// Content by file name. What is named .gz is compressed when it is written.
using FuzzFolder = std::map<std::string, std::string>;

struct FolderArchive {
  FuzzFolder files;
  std::span<const uint8_t> choices;  // what follows the last file
};

// "folder\n", then for each file "=== NAME\n" and its content, then "=== end\n" and bytes. nullopt:
// the input does not begin so.
std::optional<FolderArchive> ParseFolderArchive(std::span<const uint8_t> input);

// Fails no one: a name that the file system refuses is left out.
void WriteFolder(const FuzzFolder& files, const std::filesystem::path& folder);

// A JSON document as Python pickles it (protocol 2). Of what is no JSON the text as it is.
std::string PickleOfJson(std::string_view json);

}  // namespace eroica
