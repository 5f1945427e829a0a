// Reads what an earlier run of `evener faces` left in its folder for the next run: the faces of photos, recognised by
// the photos' content, and which person each face was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/open/pictures.h"
#include "job/faces/comparison.h"
#include "job/faces/faces_flags.h"
#include "task/faces/faces.h"
#include "task/faces/journal.h"

namespace evener::job {

/// The settings on which found faces depend: faces found with other settings can't be reused. Networks in files are
/// told by a hash of their contents. Throws Error where such a file can't be read.
nlohmann::json face_settings(const FaceNetworkFlags& flags, const FacesPlacementFlags& placement,
                             const task::EmbedderRequest& embedder, const task::DetectorRequest& detector);

/// The most thumbnails that are kept in memory. The page shows no more, and memory must not grow with the photos.
inline constexpr std::size_t kMostThumbnails = 1000;

/// The journal's file in a run's folder.
std::filesystem::path faces_journal(const std::filesystem::path& folder);
/// Begins the journal. `settings`: those by which faces are found, which KnownFaces compares; `notes`: for
/// KnownFaces::notes(); `sure`: for KnownFaces::sure().
task::FacesJournal begin_faces_journal(const std::filesystem::path& folder, nlohmann::json settings,
                                       const std::vector<std::string>& notes, float sure);

/// A photo, its content and the person of each face on it.
struct PersonsOnPhoto {
  std::string file;
  std::uint64_t content = 0;
  std::vector<int> persons;
};

class KnownFaces {
 public:
  /// Knows no photos and no persons.
  KnownFaces() = default;
  /// Reads the journal and the persons in `folder`. Throws UsageError naming an option in which `settings` differ from
  /// those of the journal, Error for files that evener didn't write.
  KnownFaces(const std::filesystem::path& folder, const nlohmann::json& settings);

  /// For a run that is to be replaced: reads only the persons in `folder`, so that they keep their numbers; no photo is
  /// known.
  static KnownFaces who_was_who(const std::filesystem::path& folder);

  /// The photo of that content; nullptr where it isn't known.
  const task::PhotoFaces* find(std::uint64_t content) const;
  /// The person of each face on a photo, numbered from 0; -1 = a face that is like no other. Empty where the photo's
  /// persons were never written.
  std::vector<int> persons(std::uint64_t content) const;
  /// The first number that no person has had.
  int first_new_person() const { return first_new_person_; }
  /// Files of the last run whose content is not among `contents` any more.
  std::vector<std::string> vanished(const std::vector<std::optional<std::uint64_t>>& contents) const;
  /// Notes of the run that found the faces, such as that the embedder's weights were random.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The probability of a sure face, of the detector that found them (FounderRule).
  float sure() const { return sure_; }
  /// The length of the journal, see task::read_journal().
  std::uint64_t whole_bytes() const { return whole_bytes_; }

 private:
  void read_persons(const std::filesystem::path& path);

  std::map<std::uint64_t, task::PhotoFaces> photos_;
  std::map<std::uint64_t, PersonsOnPhoto> told_;  // by content
  std::vector<std::string> notes_;
  float sure_ = kUsuallySure;
  int first_new_person_ = 0;
  std::uint64_t whole_bytes_ = 0;
};

/// Writes the persons on each photo for the next run. `first_new_person`: see KnownFaces.
void write_persons(const std::filesystem::path& folder, const std::vector<PersonsOnPhoto>& photos,
                   int first_new_person);
/// Removes the persons that `folder` remembers.
void forget_persons(const std::filesystem::path& folder);

}  // namespace evener::job
