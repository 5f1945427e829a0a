// Recognises annotations of images in formats that evener doesn't read.
#pragma once

#include <filesystem>
#include <string>

namespace evener::data {

/// A sentence that names a file with such annotations in `folder` or in a folder directly below, and what to do; "" if
/// there is none. Reads only the beginnings of a few files.
std::string other_annotations(const std::filesystem::path& folder);

}  // namespace evener::data
