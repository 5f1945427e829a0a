#include "data/sources/folder_names.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <string_view>

#include "base/names.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::ranges::find(words, word) != words.end();
}

/// The runs of letters in a name, in small letters.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : name + "_") {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(lower_case(word));
      word.clear();
    }
  }
  return words;
}

std::optional<Part> part_of_word(const std::string& word) {
  if (is_one_of(word, {"pred", "predict", "prediction", "unlabeled", "unlabelled", "holdout", "eval", "evaluation",
                       "fold", "folds", "split"})) {
    return Part::kUnused;
  }
  return part_named(word);
}

/// What stands before the number of a file of several: "cat." of "cat.12.jpg", "n0144_" of "n0144_7.JPEG". Empty where
/// no number does.
std::string prefix_of(const fs::path& image) {
  const std::string stem = image.stem().string();
  std::size_t end = stem.find_last_not_of(")] ");
  if (end == std::string::npos || !std::isdigit(static_cast<unsigned char>(stem[end]))) return "";
  while (end > 0 && std::isdigit(static_cast<unsigned char>(stem[end - 1]))) --end;
  return stem.substr(0, end);
}

}  // namespace

std::optional<Part> part_named(const std::string& name) {
  const std::string lower = lower_case(name);
  if (is_one_of(lower, {"train", "training"})) return Part::kTrain;
  if (is_one_of(lower, {"val", "valid", "validation", "dev"})) return Part::kVal;
  if (is_one_of(lower, {"test", "testing"})) return Part::kTest;
  return std::nullopt;
}

std::optional<Part> resembles_part(const std::string& name) {
  for (const std::string& word : words_of(name)) {
    if (const std::optional<Part> part = part_of_word(word)) return part;
  }
  return std::nullopt;
}

bool is_called_as_part(const std::string& name) {
  const auto says_nothing = [](const std::string& word) {
    return part_of_word(word) ||
           is_one_of(word, {"set", "data", "dataset", "image", "images", "img", "imgs", "photos", "pictures", "split"});
  };
  return resembles_part(name) && std::ranges::all_of(words_of(name), says_nothing);
}

bool are_alike(const std::string& a, const std::string& b) {
  return lower_case(a) == lower_case(b);
}

std::string class_options_of_names(const std::vector<fs::path>& images, const fs::path& folder) {
  std::map<std::string, std::size_t> counts;  // of files by their class's name and what parts it from the number
  for (const fs::path& image : images) ++counts[prefix_of(image)];
  counts.erase("");
  const fs::path within = images.empty() ? fs::path() : images.front().parent_path().lexically_relative(folder);
  constexpr std::size_t kMostShown = 3;
  std::string options;
  std::size_t classes = 0;
  for (const auto& [prefix, count] : counts) {
    const std::string name = prefix.substr(0, prefix.find_last_not_of(" ._-([") + 1);
    if (name.empty() || count < 2 || prefix.find_first_of("*?['\\=") != std::string::npos) return "";
    if (++classes > kMostShown) continue;
    const std::string pattern = (within.empty() || within == "." ? fs::path() : within) / (prefix + "*");
    options += (options.empty() ? "--class " : " --class ") + printable(name) + "='" + printable(pattern) + "'";
  }
  if (classes < 2) return "";
  return classes > kMostShown ? options + " ..." : options;
}

}  // namespace evener::data
