// A journal of the faces found so far, written to the disk photo by photo: a run that was interrupted or killed goes on
// from there, and a later run has to look only at new photos.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "faces/photos/faces.h"

namespace evener::faces {

/// Reads a journal: calls `on_settings`, and `on_photo` for every photo in it (PhotoFaces::photo is not set). Returns
/// the length in bytes up to the last whole entry: a killed process may have left a part of an entry at the end, which
/// is no error. Throws Error for a file that is no journal.
std::uint64_t read_journal(const std::filesystem::path& path,
                           const std::function<void(const nlohmann::json& settings)>& on_settings,
                           const std::function<void(PhotoFaces)>& on_photo);

class FacesJournal {
 public:
  /// Begins a journal, in place of any that exists.
  FacesJournal(const std::filesystem::path& path, const nlohmann::json& settings);
  /// Appends to an existing journal, of which all beyond `whole_bytes`, as read_journal() returned it, is cut off.
  FacesJournal(const std::filesystem::path& path, std::uint64_t whole_bytes);

  /// Appends a photo and flushes it to the operating system, so that it survives if this process is killed. Throws
  /// Error where it can't be written.
  void add(const PhotoFaces& photo);

 private:
  void write(const nlohmann::json& entry);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace evener::faces
