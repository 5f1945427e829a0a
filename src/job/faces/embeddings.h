// Faces that are known by their embeddings, in embeddings.safetensors of an earlier run or of other software: comparing
// them needs no photos.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/faces/faces_flags.h"
#include "job/faces/faces_run.h"
#include "job/observer.h"
#include "task/faces/compare.h"

namespace evener::job {

struct StoredFaces {
  task::Embeddings embeddings;
  std::vector<std::string> files;    // of each face
  std::vector<task::FaceBox> boxes;  // of each face; empty = the file has none
};

/// Reads "embeddings" (faces, D) of float32, or the only such tensor of a file; names of files and boxes where it has
/// them. Takes the memory of the embeddings once. Throws Error naming what is wrong with the file.
StoredFaces read_embeddings(const std::filesystem::path& path);
void write_embeddings(const std::filesystem::path& path, const StoredFaces& faces);

/// Whether `photos` are not photos but one such file. Throws UsageError for one among others.
bool names_embeddings(const std::vector<std::string>& photos);

/// Compares and groups the faces of the file that `flags` name, and writes the files of the run.
FacesRun compare_embeddings(const FacesCommandFlags& flags, Observer& line);

}  // namespace evener::job
