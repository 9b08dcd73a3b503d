//! A pool among the parameters of an atomic handler: writes through it are outside the transaction.

use syn::Attribute;

use crate::args::Options;
use crate::diagnostic::{Code, Faults};
use crate::model::{Model, cfgs};
use crate::types;

/// A pool that the compiler is to warn of.
pub(crate) struct Pool<'i> {
    /// The name of its type, which is underlined.
    pub(crate) name: &'i syn::Ident,
    pub(crate) cfgs: Vec<&'i Attribute>,
}

/// Returns the pools to warn of. In lease mode a pool is the body's way to its database.
pub(super) fn find<'i>(model: &Model<'i>, options: &Options, faults: &mut Faults) -> Vec<Pool<'i>> {
    let leased = options.lease.is_given();
    let pools = model.rest.iter().filter_map(|param| {
        Some(Pool {
            name: types::pool(&param.typed.ty)?,
            cfgs: cfgs(&param.typed.attrs),
        })
    });
    let pools: Vec<_> = pools.collect();
    let Some(allow) = options.allows_pool.given_as(true) else {
        return if leased { Vec::new() } else { pools };
    };
    if leased {
        faults.push(
            Code::Contradiction,
            allow,
            "a leased handler may use a pool, as it has no transaction: remove `allow(pool)`",
        );
    } else if pools.is_empty() {
        faults.push(
            Code::Contradiction,
            allow,
            "no parameter is a pool, so there is nothing to allow: remove `allow(pool)`",
        );
    }
    Vec::new()
}
