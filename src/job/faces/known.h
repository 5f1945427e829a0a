// What earlier runs of `evener faces` have left in their folder for the next one: photos whose faces are known by the
// photos' content, and who was who.
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
#include "task/faces/faces.h"
#include "task/faces/journal.h"

namespace evener::job {

/// Thumbnails are for the page, which shows no more; memory stays bounded however many photos there are.
inline constexpr std::size_t kMostThumbnails = 1000;

/// Where a folder keeps them.
std::filesystem::path faces_journal(const std::filesystem::path& folder);
/// Begins one. `settings`: what the faces are found with, as KnownFaces compares them; `notes`: what
/// KnownFaces::notes() will say.
task::FacesJournal begin_faces_journal(const std::filesystem::path& folder, nlohmann::json settings,
                                       const std::vector<std::string>& notes);

class KnownFaces {
 public:
  /// Nothing is known.
  KnownFaces() = default;
  /// Reads what `folder` holds. Throws UsageError naming an option for which `settings` differ from those that the
  /// faces were found with, Error for files that are none of ours.
  KnownFaces(const std::filesystem::path& folder, const nlohmann::json& settings);

  /// Who was who in a run that is replaced, as far as `folder` tells; no photo is known.
  static KnownFaces who_was_who(const std::filesystem::path& folder);

  /// nullptr: no photo of that content.
  const task::PhotoFaces* find(std::uint64_t content) const;
  /// The person's number of each face on a photo, from 0; -1 = nobody that was seen twice. Empty: never told.
  std::vector<int> persons(std::uint64_t content) const;
  /// The first number that nobody has had.
  int first_new_person() const { return first_new_person_; }
  /// Files of the last results whose content is not among `contents`.
  std::vector<std::string> vanished(const std::vector<std::optional<std::uint64_t>>& contents) const;
  /// What has to be known of the faces before they are believed.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Of the journal.
  std::uint64_t whole_bytes() const { return whole_bytes_; }

 private:
  struct Told {
    std::string file;
    std::vector<int> persons;
  };

  void read_persons(const std::filesystem::path& path);

  std::map<std::uint64_t, task::PhotoFaces> photos_;
  std::map<std::uint64_t, Told> told_;
  std::vector<std::string> notes_;
  int first_new_person_ = 0;
  std::uint64_t whole_bytes_ = 0;
};

/// A photo's content and the persons on it, face by face.
struct PersonsOnPhoto {
  std::string file;
  std::uint64_t content = 0;
  std::vector<int> persons;
};

/// Writes who is who for the next run. `first_new_person`: see KnownFaces.
void write_persons(const std::filesystem::path& folder, const std::vector<PersonsOnPhoto>& photos,
                   int first_new_person);
/// Nobody is known there any more.
void forget_persons(const std::filesystem::path& folder);

}  // namespace evener::job
