#include "data/sources/folder_walk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "data/image_files.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_list(const fs::path& folder, const std::error_code& error) {
  throw Error("can't list the folder '" + folder.string() + "': " + error.message());
}

/// What a folder is, whatever its names; nothing where it can't be reached.
std::optional<std::pair<dev_t, ino_t>> identity_of(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

/// Calls visit(path) for each file below a folder that is not passed over, nor in such a folder, until one returns
/// false. Each folder is entered once, those behind links after all others, so that circles end; one that `top` itself
/// lies in is none of its contents.
template <class Visit>
void visit_files(const fs::path& top, PassedOver& passed_over, const Visit& visit) {
  std::set<std::pair<dev_t, ino_t>> entered;
  std::error_code ignored;
  for (fs::path outer = fs::canonical(top, ignored); outer.has_relative_path();) {
    outer = outer.parent_path();
    if (const auto identity = identity_of(outer)) entered.insert(*identity);
  }
  std::vector<fs::path> waiting{top}, links;
  while (!waiting.empty() || !links.empty()) {
    if (waiting.empty()) {
      std::sort(links.rbegin(), links.rend());  // the last one that waits is entered next
      waiting.swap(links);
    }
    const fs::path folder = std::move(waiting.back());
    waiting.pop_back();
    const auto identity = identity_of(folder);
    if (identity && !entered.insert(*identity).second) continue;
    std::error_code error;
    fs::directory_iterator it(folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      if (passed_over.is_passed_over(it->path())) continue;
      if (it->is_directory(ignored)) {
        if (passed_over.is_no_class(it->path())) continue;
        (it->is_symlink(ignored) ? links : waiting).push_back(it->path());
      } else if (!visit(it->path())) {
        return;
      }
    }
    if (error) fail_to_list(folder, error);
  }
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

FolderEntries list_folder(const fs::path& folder, PassedOver& passed_over) {
  FolderEntries entries;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (passed_over.is_passed_over(it->path())) continue;
    std::error_code ignored;  // a dangling link is no folder
    if (it->is_directory(ignored)) {
      if (!passed_over.is_no_class(it->path())) entries.folders.push_back(it->path());
    } else if (has_image_extension(it->path())) {
      entries.images.push_back(it->path());
    }
  }
  if (error) fail_to_list(folder, error);
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.images.begin(), entries.images.end());
  return entries;
}

std::vector<fs::path> entries_in(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    if (is_wanted(it->path())) entries.push_back(it->path());
  }
  std::ranges::sort(entries);
  return entries;
}

std::vector<fs::path> files_below(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted) {
  PassedOver passed_over;
  return files_below(folder, is_wanted, passed_over);
}

std::vector<fs::path> files_below(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted,
                                  PassedOver& passed_over) {
  std::vector<fs::path> files;
  visit_files(folder, passed_over, [&](const fs::path& file) {
    if (is_wanted(file)) files.push_back(file);
    return true;
  });
  std::sort(files.begin(), files.end());
  return files;
}

bool has_file_below(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted) {
  bool has_file = false;
  PassedOver passed_over;
  visit_files(folder, passed_over, [&](const fs::path& file) {
    has_file = is_wanted(file);
    return !has_file;
  });
  return has_file;
}

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
