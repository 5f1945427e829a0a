#include "data/sources/single_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/each_index.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

/// Which file a path leads to, and how long it is.
struct FileFacts {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  bool is_known = false;
};

FileFacts facts_of(const fs::path& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size), true};
}

const char* part_name(Part part) {
  return part == Part::kTrain ? "training" : part == Part::kVal ? "validation" : part == Part::kTest ? "test" : "no";
}

/// "'a.jpg'", and "'a.jpg', which is 'b.jpg' too," where a file has two names.
std::string both_names(const fs::path& first, const fs::path& other) {
  const std::string name = quoted_text(first.string());
  return first == other ? name : name + ", which is " + quoted_text(other.string()) + " too,";
}

/// Files that are listed more than once.
struct Repeats {
  std::size_t across = 0, within = 0;  // parts
  std::string first_across, first_within;

  void add(const ListedFile& kept, const ListedFile& other) {
    const std::string names = both_names(kept.path, other.path);
    if (kept.part == other.part) {
      if (within++ == 0) first_within = "such as " + names;
    } else if (across++ == 0) {
      first_across = fmt::format("such as {} in {} and {}", names, part_name(kept.part), part_name(other.part));
    }
  }
};

std::string across_text(const Repeats& repeats) {
  return fmt::format("{} of more than one part, {}", counted(repeats.across, "file"), repeats.first_across);
}

std::string within_text(const Repeats& repeats) {
  return fmt::format("{} listed more than once, {}", counted(repeats.within, "file"), repeats.first_within);
}

/// Hash of some bytes from the middle of a file, where formats have their pixels; nothing where it can't be read.
std::optional<std::uint64_t> sample_of(const fs::path& path, std::uint64_t bytes) {
  std::array<char, 4096> sample;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const std::uint64_t begin = bytes > sample.size() ? (bytes - sample.size()) / 2 : 0;
  const ssize_t read = pread(file, sample.data(), sample.size(), static_cast<off_t>(begin));
  close(file);
  if (read < 0) return std::nullopt;
  return std::hash<std::string_view>()(std::string_view(sample.data(), static_cast<std::size_t>(read)));
}

bool have_equal_bytes(const fs::path& a, const fs::path& b) {
  try {
    return read_file(a) == read_file(b);
  } catch (const Error&) {
    return false;  // told when it is decoded
  }
}

/// Tells of files that have the bytes of an earlier one. Only files of one length with equal samples are read whole.
void note_copies(const std::vector<ListedFile>& files, const std::vector<FileFacts>& facts, int threads,
                 std::vector<std::string>& notes) {
  std::unordered_map<std::uint64_t, std::size_t> of_length;
  for (const FileFacts& file : facts) ++of_length[file.bytes];
  std::vector<std::optional<std::uint64_t>> samples(files.size());
  for_each_index(files.size(), threads, [&](std::size_t i) {
    if (facts[i].bytes > 0 && of_length.at(facts[i].bytes) > 1) samples[i] = sample_of(files[i].path, facts[i].bytes);
  });
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::size_t>> originals;  // by length and sample
  std::size_t copies = 0, elsewhere = 0;
  std::string first;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!samples[i]) continue;
    std::vector<std::size_t>& alike = originals[{facts[i].bytes, *samples[i]}];
    const auto original = std::ranges::find_if(
        alike, [&](std::size_t other) { return have_equal_bytes(files[other].path, files[i].path); });
    if (original == alike.end()) {
      alike.push_back(i);
      continue;
    }
    elsewhere += files[*original].part != files[i].part ? 1 : 0;
    if (copies++ == 0) {
      first = quoted_text(files[i].path.string()) + " of " + quoted_text(files[*original].path.string());
    }
  }
  if (copies == 0) return;
  notes.push_back(fmt::format("{} of other files to the byte, such as {}{}", counted(copies, "copy", "copies"), first,
                              elsewhere > 0 ? fmt::format("; {} in another part than the original", elsewhere) : ""));
}

/// Tells of files of one folder that differ by their endings alone, as cameras write one shot as JPEG and HEIC.
void note_twins(const std::vector<ListedFile>& files, std::vector<std::string>& notes) {
  std::unordered_map<std::size_t, std::size_t> firsts;  // by the path without its ending
  std::size_t twins = 0;
  std::string example;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const fs::path name = fs::path(files[i].path).replace_extension();
    const auto [first, is_new] = firsts.try_emplace(std::hash<std::string>()(name.string()), i);
    const fs::path& other = files[first->second].path;
    if (is_new || fs::path(other).replace_extension() != name) continue;
    if (twins++ == 0) example = quoted_text(files[i].path.string()) + " and " + quoted_text(other.string());
  }
  if (twins == 0) return;
  notes.push_back(
      fmt::format("{} {} called as another but for the ending, such as {}: of one shot in two formats keep "
                  "one, or it counts twice, and may both train and judge",
                  counted(twins, "file"), twins == 1 ? "is" : "are", example));
}

/// Where no file was left for training alone, validation gives back those that both name, and what trains is divided
/// later; where the test has all of them, everything is. Returns what became of them.
std::string give_back_training(std::vector<ListedFile>& files, const std::vector<bool>& were_in_training) {
  bool is_learnable = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].part == Part::kVal && were_in_training[i]) files[i].part = Part::kTrain;
    is_learnable = is_learnable || files[i].part == Part::kTrain;
  }
  if (is_learnable) return "those of training and validation are for training, or nothing would be left to learn from";
  for (ListedFile& file : files) file.part = Part::kUndivided;
  return "nothing would be left to learn from, so that all files are divided anew";
}

}  // namespace

SingleFiles single_files(const std::vector<ListedFile>& listed, int threads, bool strict) {
  std::vector<FileFacts> all(listed.size());
  for_each_index(listed.size(), threads, [&](std::size_t i) { all[i] = facts_of(listed[i].path); });
  SingleFiles single;
  std::vector<FileFacts> facts;  // of single.files
  std::vector<bool> were_in_training;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> places;
  Repeats repeats;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const bool trains = listed[i].part == Part::kTrain;
    const auto [found, is_new] = places.try_emplace({all[i].device, all[i].inode}, single.files.size());
    if (is_new || !all[i].is_known) {
      single.place.push_back(single.files.size());
      single.files.push_back(listed[i]);
      facts.push_back(all[i]);
      were_in_training.push_back(trains);
      continue;
    }
    single.place.push_back(found->second);
    ListedFile& kept = single.files[found->second];
    repeats.add(kept, listed[i]);
    kept.part = std::max(kept.part, listed[i].part);  // training, validation, test
    were_in_training[found->second] = were_in_training[found->second] || trains;
  }
  const auto told = [&](const std::string& what, const std::string& so) {
    if (strict) throw Error(what + "; list each file once, or leave --strict out");
    single.notes.push_back(what + ": " + so);
  };
  if (repeats.within > 0) told(within_text(repeats), "each is one sample");
  if (repeats.across > 0) {
    const bool trained = std::ranges::find(were_in_training, true) != were_in_training.end();
    const bool trains = std::ranges::find(single.files, Part::kTrain, &ListedFile::part) != single.files.end();
    told(across_text(repeats), trained && !trains ? give_back_training(single.files, were_in_training)
                                                  : "each counts in the first of test, validation and training");
  }
  note_copies(single.files, facts, threads, single.notes);
  note_twins(single.files, single.notes);
  return single;
}

}  // namespace evener::data
