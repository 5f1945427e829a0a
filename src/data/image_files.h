// Finds out by its name whether a file may be an image, and reads and decodes it.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "data/codecs/picture.h"

namespace evener::data {

/// A name with its capitals as small letters.
std::string lower_case(std::string name);

/// Whether the file has one of the extensions, in small or capital letters; `extensions` are in small letters.
bool has_extension(const std::filesystem::path& file, std::initializer_list<std::string_view> extensions);

/// True for the names of image files, including formats that can't be decoded: such a file is to be reported as
/// skipped, with the reason, and not ignored in silence.
bool has_image_extension(const std::filesystem::path& path);

/// True for the names of cameras' RAW files.
bool has_raw_extension(const std::filesystem::path& path);

/// True for names that begin with a dot.
bool is_hidden(const std::filesystem::path& path);

/// Reads the whole file (phase "read"). Throws Error with the reason alone: it can't be read, is no regular file, or
/// has more than 1 GiB.
std::string read_image_file(const std::filesystem::path& path);
/// As decode_picture() (phase "decode"); too little memory is an Error as well.
Picture decode_image_file(std::string_view file);

}  // namespace evener::data
