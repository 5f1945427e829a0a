// Names of classes in a text file, one on each line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener::task {

/// Reads the names. Throws Error where the file can't be read.
std::vector<std::string> read_labels(const std::filesystem::path& path);

/// The file in which `evener data fetch` stores the class names of weights: "resnet18.classes.txt" beside
/// "resnet18.pth".
std::filesystem::path labels_beside(const std::filesystem::path& weights);

}  // namespace evener::task
