// Images that are in two parts of the data, as a sentence and as a table.
#pragma once

#include <filesystem>
#include <string>

#include "task/training/copied_files.h"

namespace evener::job {

/// In a run's folder.
inline constexpr const char* kCopiesFile = "copies.csv";

/// "1 in every pixel, 2 nearly; such as 'val/a.jpg' of 'train/b.jpg', mirrored"; what was not looked for is said, too.
std::string copies_text(const task::CopySearch& search);
/// Each pair: "image,part,copy_of,copy_of_part,relation,distance". Throws Error where it can't be written.
void write_copies(const std::filesystem::path& path, const task::CopySearch& search);

}  // namespace evener::job
