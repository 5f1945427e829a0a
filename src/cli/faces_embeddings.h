// Faces that are known by their embeddings, in embeddings.safetensors of an earlier run or of other software: comparing
// them needs no photos.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options/faces_flags.h"
#include "task/faces/compare.h"

namespace evener::cli {

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

/// `evener faces FILE.safetensors`: compares and groups the faces of the file. Returns the exit code.
int compare_embeddings(const FacesCommandFlags& flags);

}  // namespace evener::cli
