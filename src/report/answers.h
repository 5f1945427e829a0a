// Some images that a network answered, as the folder of `evener infer` keeps them for the page: answers.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// The file in a run's folder.
inline constexpr const char* kAnswers = "answers.json";

/// Throws Error where it can't be written.
void write_answers(const std::filesystem::path& path, const std::vector<AnsweredImage>& answers);
/// Throws Error naming the file and what is wrong with it: it may come from elsewhere.
std::vector<AnsweredImage> read_answers(const std::filesystem::path& path);

}  // namespace evener::report
