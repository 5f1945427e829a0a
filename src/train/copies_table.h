// Tells images that are in two parts of the data, as a sentence and as a table.
#pragma once

#include <filesystem>
#include <string>

#include "train/steps/known_parts.h"

namespace evener::training {

/// The file of write_copies() in a run's folder.
inline constexpr const char* kCopiesFile = "copies.csv";

/// "1 in every pixel, 2 nearly; such as 'val/a.jpg' of 'train/b.jpg', mirrored"; it also says where only exact copies
/// were looked for.
std::string copies_text(const CopySearch& search);
/// Writes a line for each pair: "image,part,copy_of,copy_of_part,relation,distance". Throws Error where it can't be
/// written.
void write_copies(const std::filesystem::path& path, const CopySearch& search);

}  // namespace evener::training
