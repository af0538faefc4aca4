// Ranks that are slow for the same reason have one fault, not one each: a host that is too hot, a
// storage that several ranks read from.
#pragma once

#include <cstddef>
#include <vector>

#include "schemas/finding.h"

namespace eroica {

// Claims about slow ranks that name the same function (or the same class of functions), or C code
// and the function that calls it, or that AreOfOneHost, become one finding with all their culprits,
// by rank. Single slow steps of devices share nothing but their host. It keeps the words of the
// claim that costs most; its loss is the sum of theirs, each of which is what the accounting
// charges the rank with (impact.h). A culprit is no victim. Other kinds stay as they are, in order.
std::vector<Finding> MergeBySharedCause(std::vector<Finding> claims);

// Whether both name the same function, or one of them what the other calls.
bool NameOneCall(const Finding& a, const Finding& b);

// Whether both are about ranks of one host whose training threads are slow in one call: the cause
// may be the host's storage or its cores, and which of its ranks stand out in a window is random.
bool AreOfOneHost(const Finding& a, const Finding& b);

// True where `on_all` blames nobody for a function that all ranks run, and the claim blames a rank
// for the same call.
bool ExplainsOnAll(const Finding& on_all, const Finding& claim);

// Whether it is about kernels or copies of devices.
bool IsOnDevice(const Finding& claim);

// Where a function has become slower everywhere some rank is slowest in it, which is no second
// fault, unless it costs more than all ranks' slowness does. That a whole host is slow, and hardly
// anybody elsewhere, says more than that the job is.
void DropExplainedByAll(std::vector<Finding>& findings);

// Where one rank makes up half and more of what the devices of a host lose, it is that rank.
void DropHostsOfOneSlowRank(std::vector<Finding>& claims);

// Where the devices of a host are slow as a whole, what single ranks there are claimed to be slow
// in on their devices is no second fault, whichever of them show it in this window; likewise what
// its training threads run. Nor is it uneven work of nobody's, unless that costs twice as much.
void DropRanksOfSlowHosts(std::vector<Finding>& claims);

// Where a stage of the pipeline is a single one of the job's `ranks`, which is slow, it looks too
// heavy, which is no second fault, unless that costs twice as much and the stage would be too heavy
// without it.
void DropStagesOfSlowRanks(std::vector<Finding>& claims, size_t ranks);

// Whether the claim is one more way in which `whole` shows, and so no second fault: what ranks of a
// slow host are slow in on their devices, where these are, or beside them, where that is; the
// copies of the rank whose port is slow, which pass the same slot; the port of a device that
// somebody else uses, or that is slow by as much; a path at whose end a thread is late by more than
// the path costs, or gets no processor: it moves the data.
bool IsPartOf(const Finding& claim, const Finding& whole);

// Whether the claim of one window tells less of the fault that `other` tells in another one: a
// path, of whose ends `other` says which; turns in what calls what the turns are taken in, or in
// what has become longer on all ranks. (What one window claims of both is two faults: each stands
// for what the other does not explain.)
bool TellsLessThan(const Finding& claim, const Finding& other);

// Whether both are about ranks of one host whose devices are slow in the same function, or one of
// them in all that it runs: heat and power are the host's, and which of its devices throttle in a
// window is random.
bool AreDevicesOfOneHost(const Finding& a, const Finding& b);
void DropParts(std::vector<Finding>& findings);

// Whether the claim is what a moment shows of a rank of `whole`, which lasts: a single slow step in
// nothing of the training thread's own, or that the rank arrived last in a window of few steps.
// Where several devices of a host are slow, such a step of another device there is one, too.
bool IsGlimpseOf(const Finding& claim, const Finding& whole);

}  // namespace eroica
