// How files are opened and made, in one place: what lies under a name that came from outside may be
// a pipe without a writer, a device or a folder, and must not keep the caller waiting; and what
// Eroica writes of a job is not for everybody on the machine. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <system_error>

namespace eroica {

// As open(2) with O_CLOEXEC, but it never waits and opens regular files alone: -1, with errno
// EISDIR for a folder and ENXIO for a pipe, a socket or a device. The caller closes it.
//
// A file that O_CREAT makes is readable and writable by its owner alone (0600), whatever the umask.
// In a folder with the setgid bit (chmod 2770, and the volumes of Kubernetes with an fsGroup) it is
// shared with the folder's group, which may do with it what it may do with the folder.
int OpenFile(const std::string& path, int flags);
// The file, whole; opened by OpenFile. Nothing, with errno, where it cannot be read, and EFBIG
// where it is longer.
std::optional<std::string> ReadFile(const std::string& path, size_t bytes_max);
// errno of these two, in words.
std::string OpenErrorText(int error);

// Makes the folder and those above it, each for its owner alone (0700) or, below a folder with the
// setgid bit, for its group as well.
std::error_code MakeFolders(const std::string& path);
// The last of them alone. *made: whether this call did; of two at the same time one does.
std::error_code MakeFolder(const std::string& path, bool* made);

// Whether users other than the owner may read what is in the folder, unless the file says no: its
// group too, but in a folder with the setgid bit. False where it does not exist.
bool OthersMayRead(const std::string& folder);

}  // namespace eroica
