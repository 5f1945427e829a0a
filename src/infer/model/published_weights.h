// Weights that are named instead of a file: published ones, which are downloaded once, and those of a run.
#pragma once

#include <string>

#include "data/fetch/catalogue.h"
#include "measure/run/observer.h"
#include "options/option.h"

namespace evener::inference {

/// The address in the environment variable EVENER_FETCH_FROM, or "". Throws UsageError where it is no address.
std::string fetch_mirror();

/// Calls data::fetch_set() and shows its progress. Throws Error, which says which files to put where by hand.
bool fetch_entry(const data::CatalogueEntry& entry, const std::string& folder, const std::string& from,
                 measure::Observer& observer);

/// Where `weights` is a name (infer/model/cache_folder.h) or the folder of a run instead of a file: sets the option to
/// the file, of a run its best weights. Downloads what is named, unless it is there already, or `observer` is null:
/// then nothing is to be done yet. Also sets `normalize` to the normalisation of published weights, unless it was
/// given; null where the command has no such option. `model`: the network whose weights they are. Every command with
/// --weights calls this in its complete().
void take_weights(Option<std::string>& weights, Option<std::string>* normalize, const std::string& model,
                  measure::Observer* observer);

/// Downloads the published weights that `option` names by `word`, unless they are there already, and tells where they
/// are and on what terms. `option` is set to the file or, with `as_folder`, to the folder. Returns whether the
/// catalogue has such weights.
bool take_published(Option<std::string>& option, const std::string& word, const std::string& model, bool as_folder,
                    measure::Observer* observer);

}  // namespace evener::inference
