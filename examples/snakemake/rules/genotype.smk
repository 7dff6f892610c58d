READS = config["genotype"]["reads"]
REFERENCE = config["genotype"]["reference"]
SHARDS = config["genotype"]["shards"]


rule genotype_shard:
    input:
        reads=READS,
        indexes=[index_of(path) for path in READS],
        reference=REFERENCE,
        reference_index=f"{REFERENCE}.fai",
        sites=config["genotype"]["sites"],
    output:
        vcf=f"results/genotype/{{shard}}-of-{SHARDS}.vcf.gz",
        index=f"results/genotype/{{shard}}-of-{SHARDS}.vcf.gz.tbi",
    log:
        f"logs/genotype/{{shard}}-of-{SHARDS}.log",
    threads: config["threads"]
    resources:
        **on_gpu(config["genotype"]["mem_mb"]),
    params:
        hapgpu=HAPGPU,
        shards=SHARDS,
        device=config["device"],
    shell:
        "{params.hapgpu} genotype {input.reads:q} {input.reference:q} {input.sites:q}"
        " --shard {wildcards.shard}/{params.shards} --device {params.device} -t {threads}"
        " -o {output.vcf:q} 2> {log:q}"


rule genotypes:
    input:
        [
            f"results/genotype/{shard}-of-{SHARDS}.vcf.gz"
            for shard in range(1, SHARDS + 1)
        ],
    output:
        vcf="results/genotypes.vcf.gz",
        index="results/genotypes.vcf.gz.tbi",
    log:
        "logs/genotypes.log",
    shell:
        # The blocks of the shards are joined as they are.
        "(bcftools concat --naive {input:q} -o {output.vcf:q} && tabix -p vcf {output.vcf:q}) 2> {log:q}"
