// The faces that a user has excluded from all persons, by apart.csv in a run's folder, which the user writes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace evener::job {

class FacesApart {
 public:
  /// Reads apart.csv in `folder`, if there is one: lines that begin as those of faces.csv, with a photo and the number
  /// of a face on it. Throws Error naming a line that doesn't.
  explicit FacesApart(const std::filesystem::path& folder);

  /// Whether the face is excluded. `file`: as in faces.csv; a line of apart.csv may have the name alone, without
  /// folders.
  bool contains(const std::string& file, std::size_t face);
  /// Notes on lines whose faces contains() was never called with, and so don't exist.
  std::vector<std::string> notes() const;

 private:
  struct Line {
    std::string file;
    std::size_t face = 0;
    bool is_found = false;
  };
  std::vector<Line> lines_;
};

}  // namespace evener::job
