// What has been found on photos so far, kept on the disk photo by photo: whoever is interrupted or killed goes on from
// there, and photos that were added later are the only work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "task/faces/faces.h"

namespace evener::task {

/// Reads a journal: its settings, and every photo in it (their numbers are not set). Returns the length of what is
/// whole: a killed process may have left a part of a photo at the end, which is no error. Throws Error for a file that
/// is no journal.
std::uint64_t read_journal(const std::filesystem::path& path,
                           const std::function<void(const nlohmann::json& settings)>& on_settings,
                           const std::function<void(PhotoFaces)>& on_photo);

class FacesJournal {
 public:
  /// Begins one, in place of one that is there.
  FacesJournal(const std::filesystem::path& path, const nlohmann::json& settings);
  /// Goes on with one; what lies behind `whole_bytes`, as read_journal() gave them, is cut off.
  FacesJournal(const std::filesystem::path& path, std::uint64_t whole_bytes);

  /// The photo is with the operating system afterwards, so that the end of this process can't lose it. Throws Error
  /// where it can't be written.
  void add(const PhotoFaces& photo);

 private:
  void write(const nlohmann::json& entry);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace evener::task
