// Faces that people took out of persons: apart.csv in a run's folder, which they write.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace evener::job {

class FacesApart {
 public:
  /// Reads the file in `folder`, if there is one: lines that begin as those of faces.csv, with a photo and the number
  /// of a face on it. Throws Error naming a line that doesn't.
  explicit FacesApart(const std::filesystem::path& folder);

  /// Whether the face is nobody's. `file`: as faces.csv has it; a line may have the name alone, without folders.
  bool contains(const std::string& file, std::size_t face);
  /// What to tell of lines that contains() wasn't asked for.
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
